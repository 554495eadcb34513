"""Plans of replicas played on the reference engine before they touch a cluster."""
