-- Why: money paid before the work stayed with the provider if the work never succeeded. After a day it is
-- returned to the payer as a deposit. And a wallet that had paid once could leave any number of concurrent
-- calls unpaid.

-- Time of the next attempt to take the money back from its sale; null: not needed, or done.
ALTER TABLE hub.wallet_deposit ADD COLUMN refund_at timestamptz;
CREATE INDEX wallet_deposit_refund ON hub.wallet_deposit (refund_at) WHERE refund_at IS NOT NULL;
GRANT UPDATE (refund_at) ON hub.wallet_deposit TO hub_app;

CREATE INDEX payment_claim_undelivered ON hub.payment_claim (claimed_at)
  WHERE upfront AND purpose = 'call' AND state = 'confirmed' AND delivered_at IS NULL AND NOT deposited;
CREATE INDEX payment_claim_unsettled ON hub.payment_claim (payer) WHERE state = 'claimed' AND NOT upfront;
CREATE INDEX payment_claim_proven ON hub.payment_claim (payer, amount)
  WHERE state IN ('settled', 'confirmed');
