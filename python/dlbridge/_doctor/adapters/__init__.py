"""What has to be known of each framework. None of them is imported before it is asked for."""
