-- upgrade: expand
-- Why: see 0126. Reads all call records, while others are written. The rule of call_metered before 0110 was
-- narrower, and call_agent_check came with its column, so all records satisfy them; a partition needs proof.
ALTER TABLE hub.call VALIDATE CONSTRAINT call_bound, VALIDATE CONSTRAINT call_metered,
  VALIDATE CONSTRAINT call_agent_check;
