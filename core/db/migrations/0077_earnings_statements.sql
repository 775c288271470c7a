-- Why: providers get a statement of each month, too: `earnings`, with the subject `<provider>:<month>`.
ALTER TABLE hub.document DROP CONSTRAINT document_kind_check;
ALTER TABLE hub.document ADD CONSTRAINT document_kind_check CHECK
  (kind IN ('purchase', 'call', 'statement', 'commission', 'earnings', 'credit-note'));
