-- upgrade: expand
-- Why: one principal with receivers that respond slowly could occupy all attempts of a process, so that the
-- events of everybody else waited. Principals take turns now, and receivers that are not known to respond
-- quickly share a part of the attempts.
ALTER TABLE hub.webhook ADD COLUMN is_quick boolean DEFAULT false NOT NULL; -- its last attempt was short

-- Finds the webhooks that wait, and the oldest events of each, however many of one are pending.
CREATE INDEX webhook_delivery_turn ON hub.webhook_delivery (webhook, next_at) WHERE state = 'pending';
DROP INDEX hub.webhook_delivery_waiting; -- the new one begins with the same column
