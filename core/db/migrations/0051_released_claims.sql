-- Why: the job that deletes released claims read every claim that is not confirmed, also those of
-- payments that failed, which are stored forever.

CREATE INDEX payment_claim_released ON hub.payment_claim (valid_before) WHERE state = 'released';
