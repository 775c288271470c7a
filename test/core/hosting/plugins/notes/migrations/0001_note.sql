-- Tries to be who it is not: whatever it becomes, it may do no more.
RESET ROLE;
SET search_path = plugin_notes;
CREATE TABLE note (words text PRIMARY KEY, n bigint NOT NULL DEFAULT 0);
