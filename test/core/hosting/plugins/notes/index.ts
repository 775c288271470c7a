import { type Database, type DataPlugin, defineService, s, usd } from 'agenthub/plugin'

const STATEMENTS = s.object({
  texts: s.array(s.string(), { maxItems: 100 }),
  ending: s.oneOf(['commit', 'throw', 'exit', 'hang', 'swallow']),
})

/** Plugin that executes statements on its database and returns their results. */
const notes: DataPlugin = {
  slug: 'notes',
  migrations: new URL('./migrations/', import.meta.url),
  open: ({ database }) =>
    defineService({
      slug: 'notes',
      name: 'Notes',
      category: 'test',
      summary: 'Keeps words.',
      provider: 'example',
      endpoints: {
        'POST /say': {
          summary: 'Says one statement.',
          price: usd('0.001'),
          input: s.object({ text: s.string() }),
          handle: ({ input }) => rowsOrError(() => database.query(input.text)),
        },
        'POST /keep': {
          summary: 'Keeps many words at once.',
          price: usd('0.001'),
          input: s.object({ words: s.array(s.string()) }),
          handle: async ({ input }) => {
            const kept = input.words.map((w) => database.query('INSERT INTO note VALUES ($1)', [w]))
            await Promise.all(kept)
            const { rows } = await database.query<{ n: bigint }>('SELECT count(*) AS n FROM note')
            return { n: Number(rows[0]?.n) }
          },
        },
        'POST /together': {
          summary: 'Says statements in one transaction, and how it ends.',
          price: usd('0.001'),
          input: STATEMENTS,
          handle: ({ input }) => rowsOrError(() => together(database, input.texts, input.ending)),
        },
        'POST /values': {
          summary: 'Whether values come back as what they went.',
          price: usd('0.001'),
          input: s.object({}),
          handle: () => values(database),
        },
      },
    }),
}

async function together(database: Database, texts: readonly string[], ending: string) {
  await database.transaction(async (transaction) => {
    const work = texts.map((text) => transaction.query(text))
    await (ending === 'swallow' ? Promise.allSettled(work) : Promise.all(work))
    if (ending === 'throw') throw new Error('as asked')
    if (ending === 'exit') process.exit(3)
    if (ending === 'hang') await new Promise(() => undefined)
  })
  return { rows: [] }
}

async function rowsOrError(work: () => Promise<{ readonly rows: readonly object[] }>) {
  try {
    return { rows: (await work()).rows }
  } catch (error) {
    const { code = null, message, constraint = null } = error as Error & Record<string, unknown>
    return { code, message, constraint }
  }
}

async function values(database: Database) {
  const at = new Date('2026-11-22T01:02:03.456Z')
  const bytes = Buffer.from([0, 1, 255])
  const sent = [9_007_199_254_740_993n, at, bytes, ['a', null, 'b"c'], { b: [1] }, null, true, 1.5]
  const { rows } = await database.query<Record<string, unknown>>(
    `SELECT $1::bigint AS i, $2::timestamptz AS at, $3::bytea AS bytes, $4::text[] AS list,
            $5::jsonb AS json, $6::text AS nothing, $7::boolean AS yes, $8::float8 AS f,
            date '2026-11-22' AS day, 'NaN'::float8 AS nan`,
    sent,
  )
  const row = rows[0] ?? {}
  const { i, at: when, bytes: same, ...rest } = row
  return {
    bigint: i === sent[0],
    date: when instanceof Date && when.getTime() === at.getTime(),
    bytes: Buffer.isBuffer(same) && same.equals(bytes),
    rest: { ...rest, nan: Number.isNaN(rest['nan']) },
  }
}

export default notes
