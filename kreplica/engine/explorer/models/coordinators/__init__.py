"""Models of what coordinators coordinate: transactional ids, consumer groups."""
