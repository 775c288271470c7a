-- upgrade: expand
-- Why: owners of domains are told that the proof is missing before their pages are no longer sold.
ALTER TABLE hub.domain ADD COLUMN noticed_at timestamptz;

ALTER TABLE hub.mail DROP CONSTRAINT mail_template_check,
  ADD CONSTRAINT mail_template_check CHECK (template IN ('sign-in', 'payout-sent', 'payout-address',
    'credits-expiring', 'rate-decided', 'incident', 'low-balance', 'domain-proof'));
