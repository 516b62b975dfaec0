"""What has to be known of each framework. Each is imported on first use."""
