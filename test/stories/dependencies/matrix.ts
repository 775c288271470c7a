import { expect } from 'chai'
import { sleep, withDeadline } from '../../../core/clock.ts'
import { creditsOf } from '../../../core/ledger/postings.ts'
import { verifyLedger } from '../../../core/ledger/verify.ts'
import type { Hex } from '../../../core/payments/chain/asset.ts'
import { resolvePayments } from '../../../core/payments/operations/resolve.ts'
import { ask } from '../../support/ask.ts'
import { eventually } from '../../support/eventually.ts'
import type { FailureMode } from '../../support/fault-proxy.ts'
import { PRICE } from '../counted-service.ts'
import type { Outcome, PreparedRequest } from './entry-point.ts'
import { ENTRY_POINTS } from './entry-points.ts'
import { type Dependency, type Fixture, openFixture, type SignerKind } from './fixture.ts'

/** Responses that a failing dependency may cause. Anything else misleads, or is a fault of ours. */
const EXPECTED: ReadonlySet<string> = new Set([
  'payment_pending',
  'payment_in_progress',
  'idempotency_in_progress',
  'not_payable', // a seller that responds without asking for money
  'chain_unavailable',
  'facilitator_unavailable',
  'service_unavailable',
  'signer_unavailable',
  'upstream_error',
  'upstream_payment_terms',
  'upstream_timeout',
  'upstream_too_large',
  'upstream_unreachable',
  // Of requests that are not answered with a problem:
  'job_failed',
  'not_delivered',
])

/** Dependencies that fail together, and how. */
export type Cell = readonly [dependencies: readonly Dependency[], mode: FailureMode]

/** Tests each cell: its requests while it fails, unrelated ones, and the same ones afterwards. */
export function testMatrix(
  cells: readonly Cell[],
  signer: SignerKind = 'web3signer',
): () => Fixture {
  let fixture: Fixture
  before(async () => {
    fixture = await openFixture(signer)
  })
  after(() => fixture?.close())

  for (const [dependencies, mode] of cells) {
    it(`costs nothing extra, misleads nobody and recovers: ${dependencies.join()} (${mode})`, () =>
      testCell(fixture, dependencies, mode))
  }
  return () => fixture
}

type NamedRequest = PreparedRequest & { readonly name: string }

async function testCell(
  fixture: Fixture,
  dependencies: readonly Dependency[],
  mode: FailureMode,
): Promise<void> {
  const affected = ENTRY_POINTS.filter(({ uses }) =>
    uses.some((each) => dependencies.includes(each)),
  )
  const before = await readMoney(fixture)
  const requests: readonly NamedRequest[] = await Promise.all(
    affected.map(async (each) => ({ name: each.name, ...(await each.prepare(fixture)) })),
  )
  const fail = (how: FailureMode | undefined) =>
    Promise.all(dependencies.map((each) => fixture.fail(each, how)))
  fixture.lines.length = 0
  await fail(mode)
  const isJob = ({ name }: NamedRequest): boolean => name.startsWith('job ')
  const running = Promise.all(requests.filter(isJob).map(({ send }) => send()))
  const callerRequests = requests.filter((each) => !isJob(each))
  const answering = Promise.all(callerRequests.map(answerOf))
  await assertUnrelated(fixture, dependencies)
  const answers = await answering
  assertQuiet(fixture, dependencies)
  await fail(undefined)
  await running
  const faults = answers.map((answer, i) => faultOf(fixture, callerRequests[i]!, answer))
  expect((await Promise.all(faults)).flat().join('\n')).to.equal('')
  const outcomes = await Promise.all(requests.map((each) => recover(fixture, each)))
  await eventually(() => isResolved(fixture))
  await assertPaid(fixture, before, requests, outcomes)
  for (const { check } of requests) await check?.()
  expect(await verifyLedger(fixture.database.pool)).to.have.property('ok', true)
  expect(fixture.unhandled.map(String)).to.deep.equal([])
}

/** Sends a request, whose answer comes in time whatever its dependencies do. */
const answerOf = ({ name, send }: NamedRequest): Promise<Outcome> =>
  withDeadline(ANSWER_MS, send(), () => new Error(`${name} was not answered`))

/** Longest time limit of a call, and some more. */
const ANSWER_MS = 100_000

/** Checks that an outage is a few lines in the log, however many requests fail. */
function assertQuiet({ lines }: Fixture, dependencies: readonly Dependency[]): void {
  expect(lines.length, lines.join('')).to.be.at.most(LINES_MAX * dependencies.length)
}

/** Lines about one dependency: different errors are logged once each. */
const LINES_MAX = 20

/** Checks on the chain and in credits that who was served has paid, and nobody else. */
async function assertPaid(
  fixture: Fixture,
  before: Money,
  requests: readonly NamedRequest[],
  outcomes: readonly Outcome[],
): Promise<void> {
  for (const [i, { name, nonce }] of requests.entries()) {
    const { ok, text } = outcomes[i]!
    if (nonce) expect(await isUsed(fixture, nonce), `${name}: ${text}`).to.equal(ok)
  }
  const paid = requests.filter((_, i) => outcomes[i]!.ok || outcomes[i]!.payment === 'taken')
  const now = await readMoney(fixture)
  expect(before.usdc - now.usdc, 'USDC spent').to.equal(sum(paid, 'usdc'))
  expect(now.treasury - before.treasury, 'USDC received').to.equal(sum(paid, 'usdc'))
  expect(now.credits - before.credits, 'credits').to.equal(sum(paid, 'credits') - PRICE)
}

const sum = (requests: readonly PreparedRequest[], what: 'usdc' | 'credits'): bigint =>
  requests.reduce((total, request) => total + (request[what] ?? 0n), 0n)

type Money = Awaited<ReturnType<typeof readMoney>>

async function readMoney({ sandbox, eve, running, agent }: Fixture) {
  const { chain, treasury } = sandbox.money
  return {
    usdc: await chain.balanceOf(eve.address),
    treasury: await chain.balanceOf(treasury),
    credits: await running.hub.ledger.balance(creditsOf(agent.keyId)),
  }
}

/** Returns true if the chain has the payment. The test reads it without the failing proxy. */
async function isUsed({ sandbox, eve }: Fixture, nonce: Hex): Promise<boolean> {
  const { outcome } = await sandbox.money.chain.authorizationOutcome(eve.address, nonce, 0n)
  return outcome === 'used'
}

/** A failing database concerns one of the two hubs; any other dependency, no other request. */
async function assertUnrelated(
  { running, remote, agent }: Fixture,
  dependencies: readonly Dependency[],
): Promise<void> {
  const { url } = dependencies.includes('database') ? remote : running
  const free = await Promise.all([
    ask(url, '/proxy/counted/work', { key: agent.apiKey, body: {} }),
    ask(url, '/v1/credits/balance', { key: agent.apiKey }),
    ask(running.url, '/livez'),
  ])
  for (const { status, text } of free) expect(status, text).to.equal(200)
}

/** Advice that leads to a second payment. */
const PAY_AGAIN = /nothing was|not charged|sign a new payment|buy credits/i
/** Advice to repeat the same request, which pays once. */
const SAME_REQUEST = /same (?:request|payment|arguments)/i

/** A failed request names its cause, and says that nothing moved only if nothing did. */
async function faultOf(
  fixture: Fixture,
  { name, nonce }: NamedRequest,
  outcome: Outcome,
): Promise<readonly string[]> {
  const { ok, isProblem, code = '', charged, payment, advice = '', retryable, text } = outcome
  if (ok) return []
  const isClear = isProblem && EXPECTED.has(code) && (charged === 0n || payment === 'taken')
  const invites = PAY_AGAIN.test(advice) || (retryable && !SAME_REQUEST.test(advice))
  const isPaid = payment !== undefined || (nonce !== undefined && (await isUsed(fixture, nonce)))
  return isClear && !(invites && isPaid) ? [] : [`${name}: ${text}`]
}

/** Repeats a request until it succeeds, or until its payer is told that it has not paid. */
async function recover(fixture: Fixture, { name, send }: NamedRequest): Promise<Outcome> {
  let last: Outcome | undefined
  await eventually(async () => {
    last = await send()
    if (last.ok || last.payment === 'taken' || isRefused(last)) return true
    if (last.code === 'not_delivered') await makeDue(fixture)
    await sleep(POLL_MS)
    return false
  }, RECOVERY_MS).catch((cause: Error) => {
    throw new Error(`${name} does not recover: ${last?.code} ${last?.text}`, { cause })
  })
  return last!
}

/** A payment that was not used in time has expired. */
const isRefused = ({ code, text }: Outcome): boolean =>
  code === 'payment_invalid' && text.includes('authorization_valid_before')

/** Longer than a payment is valid: one whose settlement failed midway ends only then. */
const RECOVERY_MS = 100_000
/** Within the rate limit of one key. */
const POLL_MS = 500

/** Ends the pauses before events and mails are sent again. */
async function makeDue({ database }: Fixture): Promise<void> {
  await database.admin.query(`UPDATE hub.webhook_delivery SET next_at = now()`)
  await database.admin.query(`UPDATE hub.mail SET next_at = now()`)
}

async function isResolved({ running, jobDeps }: Fixture): Promise<boolean> {
  await resolvePayments(jobDeps, 0).catch(() => {})
  const { rows } = await running.hub.pool.query<{ open: number }>(
    `SELECT (SELECT count(*) FROM hub.payment_claim WHERE state IN ('claimed', 'pending'))
       ::integer + (SELECT count(*) FROM hub.payment_intent
         WHERE state IN ('signed', 'unresolved'))::integer AS open`,
  )
  return rows[0]!.open === 0
}
