-- Why: the one who prepares the closing of a month must not be the one who closes it. A closing is an act of
-- staff that always has two people. The list of kinds gets a new name, so that no other migration replaces it
-- unnoticed.
ALTER TABLE hub.staff_act DROP CONSTRAINT staff_act_kind_check;
ALTER TABLE hub.staff_act ADD CONSTRAINT staff_act_kinds CHECK (kind IN ('adjustment', 'refund', 'exception',
  'transfer', 'provider', 'write-off', 'recovery', 'period'));
ALTER TABLE hub.staff_act ADD CONSTRAINT staff_act_two_people
  CHECK (kind <> 'period' OR state <> 'booked' OR decider IS NOT NULL);
