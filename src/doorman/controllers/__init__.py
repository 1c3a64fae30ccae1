"""The controllers: each looks at a few kinds, decides, and returns actions. None knows another."""
