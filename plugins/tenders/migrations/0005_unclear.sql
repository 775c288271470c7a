-- Why: a call whose deadline is no date is neither open nor closed. A plan has an end like a call.

ALTER TABLE tender DROP CONSTRAINT tender_state_check,
  ADD CONSTRAINT tender_state_check CHECK (state IN
    ('planned', 'timed', 'suspended', 'cancelled', 'awarded', 'unsuccessful', 'unclear'));
