-- upgrade: expand
-- Why: an administrator who froze and thawed a key that its owner had frozen ended the owner's freeze too,
-- though the key may have leaked. Now the owner's freeze is kept while an administrator's one is in force.
ALTER TABLE hub.api_key ADD COLUMN owner_frozen_at timestamptz,
  ADD COLUMN owner_frozen_reason text CHECK (length(owner_frozen_reason) BETWEEN 1 AND 200),
  ADD CONSTRAINT api_key_owner_freeze CHECK (num_nulls(owner_frozen_at, owner_frozen_reason) IN (0, 2));
