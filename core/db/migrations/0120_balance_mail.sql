-- upgrade: expand
-- Why: people who ask for it get an email when the credits of one of their keys fall below its threshold.
CREATE TABLE hub.balance_subscription (
  person text PRIMARY KEY REFERENCES hub.person (principal),
  since timestamptz NOT NULL DEFAULT now(),
  token uuid NOT NULL UNIQUE DEFAULT gen_random_uuid()
);
GRANT SELECT, INSERT, DELETE ON hub.balance_subscription TO hub_app;

ALTER TABLE hub.mail DROP CONSTRAINT mail_template_check,
  ADD CONSTRAINT mail_template_check CHECK (template IN ('sign-in', 'payout-sent', 'payout-address',
    'credits-expiring', 'rate-decided', 'incident', 'low-balance'));
