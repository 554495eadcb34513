"""Rules of replicas: fetching, acknowledgement, high watermark, truncation."""
