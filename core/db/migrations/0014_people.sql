-- Why: people. Whoever signs in by mail has an account: a principal without a wallet, with keys of its own,
-- and with the keys of the wallets that are linked to it. Keys get what administrators and owners set.

ALTER TABLE hub.api_key
  ADD COLUMN rate_per_minute integer CHECK (rate_per_minute BETWEEN 1 AND 1000000), -- null: that of its tier
  ADD COLUMN frozen_at timestamptz,
  ADD COLUMN frozen_by text CHECK (frozen_by IN ('owner', 'administrator')),
  ADD COLUMN frozen_reason text CHECK (length(frozen_reason) BETWEEN 1 AND 200),
  ADD CONSTRAINT api_key_rate CHECK (rate_per_minute IS NULL OR parent IS NULL), -- its children share it
  ADD CONSTRAINT api_key_frozen CHECK (num_nulls(frozen_at, frozen_by, frozen_reason) IN (0, 3));

REVOKE UPDATE ON hub.principal FROM hub_app; -- fixed for ever

CREATE TABLE hub.person (
  principal text PRIMARY KEY REFERENCES hub.principal,
  email text NOT NULL UNIQUE CHECK (email = lower(email) AND length(email) <= 254
    AND email ~ '^[^[:space:],;<>()"\\@]+@[^[:space:],;<>()"\\@]+$'), -- one address, whoever reads it
  created_at timestamptz NOT NULL DEFAULT now()
);

-- A person whom the owner of a wallet lets manage its keys. The keys, and all that they have, stay where
-- they are: no row moves, and the wallet can name another person at any time.
CREATE TABLE hub.wallet_link (
  wallet text PRIMARY KEY REFERENCES hub.principal,
  person text NOT NULL REFERENCES hub.person CHECK (person <> wallet),
  linked_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX wallet_link_person ON hub.wallet_link (person);

-- A link in a mail. Its token follows from the id and a secret of the hub, which no table has.
CREATE TABLE hub.magic_link (
  id text PRIMARY KEY CHECK (id ~ '^lnk_[0-9A-Za-z]{16}$'),
  hash bytea NOT NULL UNIQUE CHECK (length(hash) = 32), -- sha256 of the token
  email text NOT NULL,
  network text NOT NULL,     -- from where it was asked for
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL,
  used_at timestamptz
);
CREATE INDEX magic_link_email ON hub.magic_link (email, created_at);
CREATE INDEX magic_link_network ON hub.magic_link (network, created_at);

CREATE TABLE hub.session (
  id text PRIMARY KEY CHECK (id ~ '^ses_[0-9A-Za-z]{16}$'),
  hash bytea NOT NULL UNIQUE CHECK (length(hash) = 32), -- sha256 of the token
  person text NOT NULL REFERENCES hub.person,
  agent text NOT NULL CHECK (length(agent) <= 200),     -- what the browser called itself
  network text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  used_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL
);
CREATE INDEX session_person ON hub.session (person, created_at);
CREATE INDEX session_expiry ON hub.session (expires_at);

-- Mails to be sent: written in the transaction of what they tell, deleted when they are.
CREATE TABLE hub.mail (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  template text NOT NULL CHECK (template IN ('sign-in')),
  recipient text NOT NULL,
  subject_id text NOT NULL,  -- what it is about: of a sign-in, the link
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL, -- nobody needs it later
  next_at timestamptz NOT NULL DEFAULT now(),
  attempts smallint NOT NULL DEFAULT 0
);
CREATE INDEX mail_due ON hub.mail (next_at);

-- What a wallet is asked to sign for, beside registration. `terms` is what it agrees to.
ALTER TABLE hub.challenge
  ADD COLUMN purpose text NOT NULL DEFAULT 'register' CHECK (purpose IN ('register', 'link', 'transfer')),
  ADD COLUMN terms jsonb,
  ADD CONSTRAINT challenge_terms CHECK ((purpose = 'register') = (terms IS NULL));

GRANT SELECT, INSERT ON hub.person TO hub_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON hub.wallet_link, hub.magic_link, hub.session, hub.mail TO hub_app;

-- Entries of others that touched the credits of a key: they belong into its history too. Rare kinds, so that
-- nothing of it lies on the path of a call: transferred, identified, adjusted, vanished.
CREATE INDEX journal_visits ON ledger.journal USING gin (accounts) WHERE kind IN (31, 37, 40, 41);
