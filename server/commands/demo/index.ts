import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { elapsedMs } from '../../../core/clock.ts'
import { readConfig } from '../../../core/config.ts'
import { exportLedger } from '../../../core/ledger/export/index.ts'
import { type TrialBalanceRow, trialBalance } from '../../../core/ledger/trial-balance.ts'
import { verifyLedger } from '../../../core/ledger/verify.ts'
import { createLog } from '../../../core/log.ts'
import { decimal, json } from '../../../core/money.ts'
import { defineService, type Plugin, s, usd } from '../../../core/plugin/index.ts'
import type { Parts, RunningHub } from '../../boot/start.ts'
import { startHub } from '../../boot/start.ts'
import { story } from './story.ts'
import { createTeller, type Write } from './teller.ts'

/** A service that always fails, to show that failures cost nothing. */
const flaky: Plugin = defineService({
  slug: 'flaky',
  name: 'Flaky',
  category: 'test',
  summary: 'Fails every time, for the sake of the demonstration.',
  provider: 'example',
  endpoints: {
    'POST /try': {
      summary: 'Throws.',
      price: usd('0.01'),
      input: s.object({}),
      handle: () => {
        throw new Error('this service is out of order')
      },
    },
  },
})

/**
 * Plays the whole story once, in a sandbox of its own on free ports, and leaves nothing behind
 * but the journal.
 * @returns the exit code: 0 when every step went as told and the books balance
 */
export async function demo(parts: Parts, args: readonly string[], write: Write): Promise<number> {
  const { values } = parseArgs({ args: [...args], options: { json: { type: 'boolean' } } })
  const { dataDir: home } = readConfig()
  const dataDir = await mkdtemp(join(tmpdir(), 'agenthub-demo-'))
  const start = elapsedMs()
  const tell = createTeller(write)
  tell.chapter('Starting a sandbox: PostgreSQL, a chain with test USDC, a seller, a hub')
  const log = createLog('silent')
  const config = { ...readConfig({}), dataDir, port: 0 }
  const running = await startHub({
    config,
    parts: { ...parts, plugins: [...parts.plugins, flaky] },
    log,
  })
  try {
    tell.fact('ready at', `${running.url} after ${Math.round(elapsedMs() - start)} ms`)
    const told = await story(running, tell)
    const books = await closeBooks(running, join(home, 'demo'), tell)
    const ok = told.ok && books.ok
    tell.chapter(ok ? 'Everything as it should be' : 'Something is wrong')
    if (values.json === true) {
      const line = {
        ok,
        calls: told.calls,
        charged_microdollars: json(told.charged),
        trial_balance: json(books.total),
        holds_open: books.holdsOpen,
        journal: books.journal,
      }
      write(`${JSON.stringify(line)}\n`)
    }
    return ok ? 0 : 1
  } finally {
    await running.stop()
    await rm(dataDir, { recursive: true, force: true })
  }
}

/** The auditor's part: the trial balance, the proof, and the journal for other tools. */
async function closeBooks(
  { hub }: RunningHub,
  folder: string,
  tell: ReturnType<typeof createTeller>,
) {
  const { pool } = hub
  tell.chapter('Closing the books')
  const rows = await trialBalance(pool)
  const money = rows.filter(({ asset, balance }) => asset === 'USDC' && balance !== 0n)
  tell.table(money.map((row) => [row.account, signed(row)] as const))
  const total = rows.reduce((sum, { balance }) => sum + balance, 0n)
  tell.fact('trial balance', decimal(total))
  const { ok, checks } = await verifyLedger(pool)
  tell.fact('verified', `${checks.filter(({ bad }) => bad === 0n).length} of ${checks.length}`)
  const { rows: holds } = await pool.query<{ open: number }>(
    'SELECT count(*)::integer AS open FROM ledger.open_hold',
  )
  await mkdir(folder, { recursive: true })
  const journal = join(folder, 'journal.hledger')
  await writeFile(journal, exportLedger(pool, 'hledger'))
  await writeFile(join(folder, 'journal.csv'), exportLedger(pool, 'csv'))
  tell.fact('journal', journal)
  const holdsOpen = holds[0]!.open
  return { ok: ok && total === 0n && holdsOpen === 0, total, holdsOpen, journal }
}

/** Debit-positive, as accountants read it. */
const signed = ({ balance }: TrialBalanceRow): string => decimal(-balance).padStart(14)
