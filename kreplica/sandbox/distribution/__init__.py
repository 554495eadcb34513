"""Apache Kafka as it is distributed: its releases, their jars, and the tools in them."""
