import { expect } from 'chai'
import { generateKey } from '../../core/identity/secret.ts'
import { createLog, scrub } from '../../core/log.ts'

const SIGNATURE = `0x${'ab'.repeat(65)}`
const TOKEN = `eyJhbGciOiJFZERTQSJ9${'eyJ4Ijox'.repeat(4)}.e30.c2ln`
const HASH = `0x${'cd'.repeat(32)}`

/** The line that a log writes for these fields. */
function logged(fields: Readonly<Record<string, unknown>>, message = 'message'): string {
  const lines: string[] = []
  createLog('info', { write: (line) => lines.push(line) }).info(fields, message)
  return lines.join('')
}

describe('the log', () => {
  it('writes one line of JSON for each message, with its time', () => {
    const line = logged({ call: 1 }, 'here')
    expect(JSON.parse(line)).to.include({ call: 1, msg: 'here', level: 30 })
    expect(JSON.parse(line))
      .to.have.property('time')
      .that.matches(/^\d{4}-\d\d-\d\dT/)
    expect(line.match(/\n/g)).to.have.length(1)
  })

  it('logs an error without its database connection', () => {
    const err = Object.assign(new Error('lost'), { code: '57P01', client: { processID: 7 } })
    const fields = JSON.parse(logged({ err }))['err']
    expect(fields).to.include({ type: 'Error', message: 'lost', code: '57P01' })
    expect(fields).to.not.have.property('client')
  })

  it('writes nothing below its level', () => {
    const lines: string[] = []
    createLog('warn', { write: (line) => lines.push(line) }).info('unheard')
    expect(lines).to.deep.equal([])
  })

  const key = generateKey()
  const secrets: Readonly<Record<string, readonly [Record<string, unknown>, string]>> = {
    'an API key, wherever it stands': [{ err: new Error(`no such key ${key}`) }, key],
    'a bearer token': [{ headers: { authorization: 'Bearer abc.def-123' } }, 'abc.def-123'],
    'a payment signature': [{ payload: `x${SIGNATURE}` }, SIGNATURE],
    'a private key, by its name': [{ privateKey: '0x123456' }, '0x123456'],
    'a password': [{ smtp: { password: 'hunter2' } }, 'hunter2'],
    'a password with a quote in it': [{ password: 'hun"ter2' }, 'ter2'],
    'a password with a backslash in it': [{ password: 'hun\\"ter2' }, 'ter2'],
    'a token with a hyphen in its name': [{ 'x-auth-token': 'hunter2' }, 'hunter2'],
    'a secret with a number in its name': [{ secret2: 'hunter2' }, 'hunter2'],
    'the secret of a webhook': [{ text: 'signs with whsec_c2VjcmV0c2VjcmV0' }, 'c2VjcmV0'],
    'a signed token': [{ text: `x ${TOKEN}` }, TOKEN.slice(0, 40)],
    'the token of a link': [{ url: '/v1/account/confirm?a=1&token=hunter2#x' }, 'hunter2'],
    'a header with a payment': [{ headers: { 'payment-signature': 'hunter2' } }, 'hunter2'],
    'a cookie': [{ headers: { cookie: 'session=hunter2' } }, 'hunter2'],
    'the password of a connection string': [
      { err: new Error('cannot reach postgres://hub:hunter2@db:5432/hub') },
      'hunter2',
    ],
  }
  for (const [what, [fields, secret]] of Object.entries(secrets)) {
    it(`never writes ${what}`, () => {
      const line = logged(fields)
      expect(line).not.to.include(secret)
      expect(() => JSON.parse(line) as unknown).not.to.throw()
    })
  }

  it('never writes a configured secret, escaped or not', () => {
    const values = ['https://rpc.example/v2', 'https://rpc.example/v2/k3yInThePath', 'pass"w\\rd']
    const lines: string[] = []
    const log = createLog('info', { write: (line) => lines.push(line) }, values)
    log.info({ err: new Error(`HTTP request failed. URL: ${values[1]}`) }, `with ${values[2]}`)
    expect(lines.join('')).not.to.match(/k3yInThePath|rpc\.example|rd"/)
    expect(JSON.parse(lines.join(''))).to.include({ msg: 'with [secret]' })
  })

  it('leaves transaction hashes, ids and page URLs unchanged', () => {
    for (const text of [HASH, 'req_0123456789', 'https://hub.example:8402/a@b', 'tokens: 5']) {
      expect(scrub(JSON.stringify({ text }))).to.equal(JSON.stringify({ text }))
    }
  })
})
