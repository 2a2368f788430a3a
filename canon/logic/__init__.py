"""Logic that SQL and MongoDB share: the decision by regions, and canonical boolean forms."""
