-- upgrade: expand
-- Why: a signed challenge (Sign-in-with-X) spends the credits of its wallet, and may do so once. Challenges
-- are not stored, only those that were used, until they have expired.
CREATE TABLE hub.used_sign_in (
  nonce bytea PRIMARY KEY CHECK (octet_length(nonce) = 32),
  used_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL,
  CHECK (expires_at > used_at AND expires_at <= used_at + interval '10 minutes')
);
CREATE INDEX used_sign_in_expiry ON hub.used_sign_in (expires_at);
GRANT SELECT, INSERT, DELETE ON hub.used_sign_in TO hub_app;
