-- Why: a stolen cookie or key of staff was good for thirty days. Acts of staff need a recent sign-in, and
-- their sessions end sooner. Who asks for many sign-in links locks nobody else out of their mailbox.

-- When the wallet signed for this key: by registration. Null for keys that a session or a key created.
ALTER TABLE hub.api_key ADD COLUMN signed_at timestamptz;

-- True if a signed-in person, or a wallet linked to them, has a role or is a configured administrator.
CREATE FUNCTION hub.is_staff(p_principal text, p_admins text[]) RETURNS boolean
LANGUAGE sql STABLE SET search_path = hub, pg_temp AS $$
  SELECT EXISTS (SELECT FROM role WHERE principal = ANY (acting_principals(p_principal))
    AND revoked_at IS NULL) OR is_configured_admin(p_principal, p_admins) $$;
GRANT EXECUTE ON FUNCTION hub.is_staff TO hub_app;

-- Browsers in which a person has signed in before. Their cookie is random, and only its hash is stored.
CREATE TABLE hub.device (
  hash bytea PRIMARY KEY CHECK (length(hash) = 32),
  person text NOT NULL REFERENCES hub.person,
  created_at timestamptz NOT NULL DEFAULT now(),
  used_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX device_person ON hub.device (person, used_at);
GRANT SELECT, INSERT, UPDATE (used_at), DELETE ON hub.device TO hub_app;

ALTER TABLE hub.magic_link
  ADD COLUMN device text,                          -- that asked; null: a stranger
  ADD COLUMN mailed boolean NOT NULL DEFAULT true; -- false: over a limit
