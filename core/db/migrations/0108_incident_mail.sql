-- upgrade: expand
-- Why: people follow incidents by email, not only by RSS.
CREATE TABLE hub.incident_subscription (
  person text PRIMARY KEY REFERENCES hub.person (principal),
  since timestamptz NOT NULL DEFAULT now()
);
GRANT SELECT, INSERT, DELETE ON hub.incident_subscription TO hub_app;

ALTER TABLE hub.mail DROP CONSTRAINT mail_template_check,
  ADD CONSTRAINT mail_template_check CHECK (template IN ('sign-in', 'payout-sent', 'payout-address',
    'credits-expiring', 'rate-decided', 'incident'));
