-- upgrade: expand
-- Why: a wallet signs in to the pages for itself. Its account is its own principal, without an email address:
-- a wallet that is linked to a person manages its own keys only, never the account of that person.
ALTER TABLE hub.session DROP CONSTRAINT session_person_fkey,
  ADD CONSTRAINT session_person_fkey FOREIGN KEY (person) REFERENCES hub.principal NOT VALID;

ALTER TABLE hub.challenge DROP CONSTRAINT challenge_purpose_check,
  ADD CONSTRAINT challenge_purpose_check CHECK (purpose IN ('register', 'link', 'transfer', 'payout',
    'payout-change', 'sign-in')) NOT VALID;
