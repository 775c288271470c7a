-- Why: a fee that was recorded at one price of ETH and posted after the setting was changed stated the new
-- price beside the old value.
ALTER TABLE hub.sent_transaction
  ADD COLUMN eth_price bigint CHECK (eth_price > 0); -- microdollars per ETH, at which worth was computed
