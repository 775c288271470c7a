-- Why: whoever looks for the entries of one event finds the newest at once, however many calls lie between
-- them. Steps of calls that end as they should (kinds 1 to 3) are nearly all entries, and are left out: their
-- way through the books costs nothing more.
CREATE INDEX journal_rare ON ledger.journal (shard, kind, seq) WHERE kind > 3;
