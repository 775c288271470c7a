import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import { Random } from '../conservation/random.ts'
import { ask } from '../support/ask.ts'
import { FAILURE_MODES } from '../support/fault-proxy.ts'
import { DEPENDENCIES, SIGNERS, type SignerKind } from './dependencies/fixture.ts'
import { type Cell, testMatrix } from './dependencies/matrix.ts'

const SEED = process.env['DEPENDENCIES_SEED'] ?? randomBytes(6).toString('hex')
const SINGLE_CELLS = 6

/** Dependencies without which a hub serves: all but the database. */
const OTHERS = DEPENDENCIES.filter((each) => each !== 'database')
/** The time limits of requests to the seller and the node are what `drips` would wait for again. */
const QUICK = OTHERS.filter((each) => each !== 'seller' && each !== 'node')
const isQuick = (mode: Cell[1]): boolean => mode !== 'hangs' && mode !== 'drips'

const random = new Random(SEED)
const single = (): Cell => [
  [random.pick(OTHERS)],
  random.pick(FAILURE_MODES.filter((mode) => isQuick(mode))),
]

/** The whole product is in test/faults. */
const CELLS: readonly Cell[] = [
  ...FAILURE_MODES.map((mode): Cell => [mode === 'drips' ? QUICK : OTHERS, mode]),
  [['database'], 'resets'],
  ...Array.from({ length: SINGLE_CELLS }, single),
]

describe(`dependencies that fail (DEPENDENCIES_SEED=${SEED})`, () => {
  const fixture = testMatrix(CELLS, random.pick(Object.keys(SIGNERS) as SignerKind[]))

  it('name the chain to callers of external sellers if the node alone fails', async () => {
    const { running, agent, sandbox, proxies } = fixture()
    await proxies.node.fail('503')
    const { status, headers, body } = await ask(running.url, '/proxy/external', {
      key: agent.apiKey,
      body: { url: `${sandbox.sellerUrl}/weather`, method: 'GET' },
    })
    await proxies.node.fail(undefined)
    expect([status, body['code']]).to.deep.equal([503, 'chain_unavailable'])
    expect(body).to.include({ charged_microdollars: 0, retryable: true })
    expect(headers).to.include({ 'x-charged-microdollars': '0' })
  })
})
