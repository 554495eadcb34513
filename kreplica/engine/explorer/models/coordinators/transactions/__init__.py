"""The transaction coordinator: ids and epochs of producers, partitions of a transaction, changes of coordinator."""
