-- Why: a sub-key read the balance of its main key. It sees itself and its sub-keys, unless every key from
-- it up to the main key may see more.
ALTER TABLE hub.api_key ADD COLUMN sees_main_key boolean NOT NULL DEFAULT false;
