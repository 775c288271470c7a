const code = (sql: string) => ({ 'core/a.ts': `const a = \`${sql}\`\n` })
const body = (sql: string, language = 'plpgsql') => ({
  'core/db/schema.sql':
    'CREATE OR REPLACE FUNCTION ledger.f(p_shard smallint)\n RETURNS void\n' +
    ` LANGUAGE ${language}\n` +
    ` SET search_path TO 'ledger', 'pg_temp'\nAS $function$\n${sql} $function$;`,
})
const table = (name: string, constraint: string) => ({
  'core/db/schema.sql': `CREATE TABLE ${name} (\n  CONSTRAINT c ${constraint}\n);`,
})

/** Planted violations of the rule on the ledger's boundary: files, and what the rule reports. */
export const PLANTED_COUPLINGS: Readonly<
  Record<string, readonly [files: Readonly<Record<string, string>>, message: RegExp]>
> = {
  'a query that joins hub and ledger': [
    code('SELECT a.code FROM hub.api_key k JOIN ledger.account a ON a.id = k.credits'),
    /^core\/a\.ts: joins hub and ledger \(1, listed 0\): query the ledger by itself$/,
  ],
  'a query of all shards': [
    code('SELECT sum(balance) FROM ledger.balance WHERE account = $1'),
    /^core\/a\.ts: does not name its shard \(1, listed 0\)/,
  ],
  'a join by shard that names none': [
    code('SELECT 1 FROM ledger.head h JOIN ledger.seal s ON s.shard = h.shard'),
    /^core\/a\.ts: does not name its shard/,
  ],
  'a table named without its schema in a function': [
    body('BEGIN PERFORM FROM head ORDER BY shard FOR UPDATE; END'),
    /ledger\.f: does not name its shard.*\nledger\.f: locks rows of several shards/,
  ],
  'a foreign key from hub to the ledger': [
    table('hub.cursor', 'FOREIGN KEY (shard) REFERENCES ledger.head(shard)'),
    /^hub\.cursor: has a foreign key across the boundary/,
  ],
  'a foreign key from the ledger to hub': [
    table('ledger.head', 'FOREIGN KEY (shard) REFERENCES hub.cursor(shard)'),
    /^ledger\.head: has a foreign key across the boundary/,
  ],
  'a key without shard': [
    table('ledger.journal', 'PRIMARY KEY (owner, id, phase)'),
    /^ledger\.journal: has a key without shard/,
  ],
  'a function in SQL over a distributed table': [
    body('SELECT seq FROM head WHERE shard = p_shard', 'sql'),
    /^ledger\.f: is LANGUAGE sql over ledger tables/,
  ],
  'forced generic plans': [
    {
      'core/db/schema.sql': body('BEGIN PERFORM FROM head WHERE shard = p_shard; END')[
        'core/db/schema.sql'
      ].replace('\nAS', "\n SET plan_cache_mode TO 'force_generic_plan'\nAS"),
    },
    /^ledger\.f: forces generic plans/,
  ],
  'columns of a CTE': [
    code('WITH c(n) AS (SELECT seq FROM ledger.head WHERE shard = $1) SELECT n FROM c'),
    /^core\/a\.ts: lists columns of a CTE/,
  ],
  'a row passed by its alias': [
    code('SELECT l.* FROM ledger.journal j, ledger.legs(j) l WHERE j.shard = $1'),
    /^core\/a\.ts: passes a row by its alias/,
  ],
  'EXISTS without a column': [
    code('SELECT EXISTS (SELECT FROM ledger.head WHERE shard = $1)'),
    /^core\/a\.ts: selects no column in EXISTS/,
  ],
  'a query in RETURN': [
    body('BEGIN RETURN (SELECT seq FROM head WHERE shard = p_shard); END'),
    /^ledger\.f: returns a query from RETURN/,
  ],
  'a simple CASE in a modifying statement': [
    code('UPDATE ledger.head SET at = CASE $2 WHEN 1 THEN now() END WHERE shard = $1'),
    /^core\/a\.ts: uses a simple CASE in a modifying statement/,
  ],
  'a function over the ledger within a query of it': [
    {
      ...body('BEGIN PERFORM FROM seal WHERE shard = p_shard; END'),
      ...code('SELECT ledger.f(1) FROM ledger.head WHERE shard = $1'),
    },
    /^core\/a\.ts: calls a function over ledger tables/,
  ],
  'a listed coupling that no longer occurs': [
    { 'test/support/ledger-couplings.txt': '2 core/a.ts: joins hub and ledger\n' },
    /^core\/a\.ts: joins hub and ledger \(0, listed 2\): lower it in test\/support\/ledger-coup/,
  ],
  'one more than listed': [
    {
      ...code('SELECT seq FROM ledger.head; SELECT at FROM ledger.head'),
      'test/support/ledger-couplings.txt': '1 core/a.ts: does not name its shard\n',
    },
    /^core\/a\.ts: does not name its shard \(2, listed 1\)/,
  ],
}
