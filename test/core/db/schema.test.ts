import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { type FreshDatabase, freshDatabase } from '../../support/postgres.ts'
import { dumpSchema } from '../../support/schema-text.ts'

describe('core/db/schema.sql', () => {
  let database: FreshDatabase

  beforeEach(async () => {
    database = await freshDatabase()
  })
  afterEach(() => database.drop())

  it('is the result of the migrations', async function () {
    const { rows } = await database.admin.query('SHOW server_version')
    if (!rows[0].server_version.startsWith('18.')) this.skip() // older ones print views otherwise
    const file = join(import.meta.dirname, '../../../core/db/schema.sql')
    const committed = (await readFile(file, 'utf8')).split('\n')
    const made = (await dumpSchema(database.admin)).split('\n')
    const lines = Math.max(committed.length, made.length)
    for (let n = 0; n < lines; n++) {
      if (committed[n] === made[n]) continue
      const where = `line ${n + 1} is "${committed[n]}", the migrations make "${made[n]}"`
      expect.fail(`core/db/schema.sql is out of date: ${where}. Run "npm run db:dump", commit it.`)
    }
  })

  it('does not change with the month, the session or pg-boss', async () => {
    const before = await dumpSchema(database.admin)
    await database.admin.query('SELECT ledger.ensure_partitions(5), hub.ensure_call_partitions(5)')
    await database.admin.query('CREATE TABLE pgboss.job (id integer)')
    await database.admin.query(`ALTER DATABASE "${databaseName()}" SET timezone = 'Asia/Tokyo'`)
    expect(await dumpSchema(database.admin)).to.equal(before)
  })

  it('includes disabled triggers, grants and defaults', async () => {
    await database.admin.query(`
      CREATE SCHEMA shown;
      CREATE TYPE shown.mood AS ENUM ('glad', 'sad');
      CREATE TABLE shown.thing (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        mood shown.mood NOT NULL DEFAULT 'sad',
        twice bigint GENERATED ALWAYS AS (id * 2) STORED CHECK (twice > 0));
      CREATE INDEX thing_mood ON shown.thing (mood) WHERE id > 5;
      CREATE TRIGGER stop BEFORE DELETE ON shown.thing
        FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();
      ALTER TABLE shown.thing DISABLE TRIGGER stop;
      GRANT SELECT, UPDATE (mood) ON shown.thing TO hub_app;`)
    const dump = await dumpSchema(database.admin)
    expect(dump.slice(dump.indexOf('CREATE SCHEMA shown'))).to.equal(SHOWN)
  })

  const databaseName = (): string => new URL(database.url).pathname.slice(1)
})

const SHOWN = `CREATE SCHEMA shown;

CREATE TYPE shown.mood AS ENUM ('glad', 'sad');

CREATE TABLE shown.thing (
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  mood shown.mood DEFAULT 'sad'::shown.mood NOT NULL,
  twice bigint GENERATED ALWAYS AS ((id * 2)) STORED,
  CONSTRAINT thing_pkey PRIMARY KEY (id),
  CONSTRAINT thing_twice_check CHECK ((twice > 0))
);
CREATE INDEX thing_mood ON shown.thing USING btree (mood) WHERE (id > 5);
CREATE TRIGGER stop BEFORE DELETE ON shown.thing FOR EACH ROW \
EXECUTE FUNCTION ledger.refuse_change(); -- DISABLED
GRANT SELECT ON shown.thing TO hub_app;
GRANT UPDATE ON shown.thing(mood) TO hub_app;
`
