import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect } from 'chai'
import { createBackends } from '../../../core/egress/backends.ts'
import { parseNote, signCheckpoint } from '../../../core/ledger/checkpoint.ts'
import {
  bucketDestination,
  webhookDestination,
} from '../../../core/ledger/checkpoint-destinations.ts'
import { RetainedCheckpoints } from '../../../core/ledger/retained-checkpoints.ts'
import {
  type CheckpointDestination,
  shipCheckpoints,
} from '../../../core/ledger/ship-checkpoints.ts'
import { createLog } from '../../../core/log.ts'
import { listenOnLoopback } from '../../support/loopback.ts'
import { newSigner } from './verify/tampering.ts'

const LEDGER = '3f2504e0-4f89-41d3-9a0c-0305e82c3301'

describe('shipped checkpoints', () => {
  const key = newSigner()
  const lines: string[] = []
  const log = createLog('info', { write: (line: string) => void lines.push(line) }, [])
  const requests: { request: IncomingMessage; body: string }[] = []
  let server: Server
  let origin: string
  let status = 200
  let dataDir: string
  let retained: RetainedCheckpoints

  before(async () => {
    const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
      requests.push({ request, body: await text(request) })
      response.writeHead(status).end()
    }
    server = createServer((request, response) => void answer(request, response))
    const port = await listenOnLoopback(server)
    origin = `http://127.0.0.1:${port}`
  })
  after(() => server.close())
  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'agenthub-test-'))
    retained = new RetainedCheckpoints(dataDir)
    requests.length = 0
    lines.length = 0
    status = 200
  })
  afterEach(() => rm(dataDir, { recursive: true, force: true }))

  /** Signs and retains a checkpoint. */
  async function retain(seq: bigint, at = '2026-11-21T06:04:32.123456Z'): Promise<string> {
    const hash = Buffer.alloc(32, Number(seq))
    const state = { ledger: LEDGER, shard: 0, seq, hash, at, balances: hash }
    const note = signCheckpoint(state, key)
    await retained.retain(note)
    return note
  }
  const ship = (destination: CheckpointDestination) =>
    shipCheckpoints({ retained, log }, LEDGER, [destination])

  it('reach a webhook once each, and again until it confirms them', async () => {
    const url = `${origin}/notes`
    const route = createBackends({ origins: [origin], userAgent: 'test' })
    const webhook = webhookDestination(url, route)
    try {
      await ship(webhook)
      expect(requests, 'nothing is signed yet').to.deep.equal([])
      const first = await retain(1n)
      status = 503
      await ship(webhook)
      expect(lines.join()).to.include('failed to ship checkpoints').and.include('webhook')
      status = 204
      await ship(webhook)
      await ship(webhook)
      const second = await retain(2n)
      await ship(webhook)
      expect(requests.map(({ body }) => body)).to.deep.equal([first, first, second])
      expect(parseNote(requests[2]!.body)!.seq).to.equal(2n)
    } finally {
      await webhook.close?.()
    }
  })

  it('reach a mailbox once a day', async () => {
    const days: string[] = []
    const mailbox: CheckpointDestination = {
      name: 'mailbox',
      daily: true,
      send: async (notes) => void days.push(notes[0]!.at.slice(0, 10)),
    }
    for (const [seq, at] of [
      [1n, '2026-11-21T06:04:32.123456Z'],
      [2n, '2026-11-21T07:04:32.123456Z'],
      [3n, '2026-11-22T07:04:32.123456Z'],
    ] as const) {
      await retain(seq, at)
      await ship(mailbox)
    }
    expect(days).to.deep.equal(['2026-11-21', '2026-11-22'])
  })

  it('are objects of a bucket that nobody can change', async () => {
    const credentials = { accessKeyId: 'id', secretAccessKey: 'secret' }
    const bucket = await bucketDestination({
      bucket: 'audit',
      prefix: 'hub/',
      endpoint: origin,
      lockDays: 10,
      client: { region: 'eu-central-1', credentials },
    })
    try {
      const note = await retain(7n)
      await ship(bucket)
      const [{ request, body }] = requests as [(typeof requests)[0]]
      expect(`${request.method} ${request.url}`).to.equal(
        `PUT /audit/hub/${LEDGER}/0/7-0?x-id=PutObject`,
      )
      expect(request.headers).to.include({
        'x-amz-object-lock-mode': 'COMPLIANCE',
        'x-amz-object-lock-retain-until-date': '2026-12-01T06:04:32.123Z',
      })
      expect(request.headers.authorization).to.match(/^AWS4-HMAC-SHA256 Credential=id\//)
      expect(request.headers).to.have.property('x-amz-checksum-sha256')
      expect(body).to.equal(note)
    } finally {
      await bucket.close?.()
    }
  })
})
