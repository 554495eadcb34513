"""Rules of group coordinators: membership, assignment, committed offsets."""
