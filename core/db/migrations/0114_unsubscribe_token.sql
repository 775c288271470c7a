-- upgrade: expand
-- Why: every mail about an incident ends the subscription with one click (RFC 8058), without a session.
ALTER TABLE hub.incident_subscription ADD COLUMN token uuid NOT NULL UNIQUE DEFAULT gen_random_uuid();
