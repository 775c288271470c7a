-- upgrade: expand
-- Why: agents sign their requests (Web Bot Auth, RFC 9421). A call records by which agent it was made, and
-- owners of pages sell to agents by rules of their own. `agents` of a rule are hosts, or `*` for any verified
-- agent; a rule without them is for everyone. Until all processes know the column, they apply every rule to
-- everyone: such rules should be written after an upgrade.
ALTER TABLE hub.call ADD agent text,
  ADD CONSTRAINT call_agent_check CHECK (length(agent) BETWEEN 1 AND 253) NOT VALID;

-- Nonces of signatures that were verified, until these have expired: each counts once.
CREATE TABLE hub.used_agent_nonce (
  id bytea PRIMARY KEY CHECK (octet_length(id) = 32),
  used_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL,
  CHECK (expires_at <= used_at + interval '25 hours')
);
CREATE INDEX used_agent_nonce_expiry ON hub.used_agent_nonce (expires_at);
GRANT SELECT, INSERT, DELETE ON hub.used_agent_nonce TO hub_app;

ALTER TABLE hub.domain_rule ADD agents text[] NOT NULL DEFAULT '{}',
  ADD CONSTRAINT domain_rule_agents_check CHECK (cardinality(agents) <= 50),
  DROP CONSTRAINT domain_rule_pkey,
  DROP CONSTRAINT domain_rule_domain_position_key,
  ADD PRIMARY KEY (domain, position),
  ADD CONSTRAINT domain_rule_distinct UNIQUE (domain, pattern, agents);
