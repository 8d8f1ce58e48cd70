"""What sources say: passages with offsets and content ids."""
