"""What a volume of a pod may say."""
