"""What a container of a pod may say."""
