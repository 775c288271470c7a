import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { expect } from 'chai'
import type { HubServer } from '../../../server/http/hub-server.ts'
import { listen } from '../../../server/http/listen.ts'
import { realSockets } from '../../core/egress/fixture.ts'
import { eventually } from '../../support/eventually.ts'

const ASK = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'
const CHUNKED = 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n'

describe('a broken request behind one that is being answered', () => {
  realSockets()
  let server: HubServer
  let answers: ServerResponse[]
  before(async () => {
    server = await listen(
      (_, response) => void answers.push(response),
      {
        host: '127.0.0.1',
        port: 0,
      },
      { headers: 300, request: 300, idle: 60_000, checkInterval: 20 },
    )
  })
  beforeEach(() => {
    answers = []
  })
  after(() => server.drain({ graceSeconds: 1 }))

  /** Sends text over one connection and returns everything received until it closes. */
  function say(text: string) {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
    let output = ''
    socket.setEncoding('utf8').on('data', (chunk: string) => (output += chunk))
    socket.write(text)
    return { socket, output: () => output, closed: once(socket, 'close') }
  }
  const broken = () => once(server, 'clientError')

  for (const [what, rest] of Object.entries({
    'is none': 'nonsense\r\n\r\n',
    'is never finished': 'GET / HTTP/1.1\r\nX-Slow:',
    'has a broken body': `${CHUNKED}0x1\r\n`,
  })) {
    it(`leaves that answer whole, and is answered after it: one that ${what}`, async () => {
      const fails = broken()
      const { output, closed } = say(ASK + rest)
      await fails
      await eventually(() => answers.length > 0)
      answers[0]!.writeHead(200, { 'Content-Length': 5 }).write('who')
      await eventually(() => output().endsWith('who'))
      answers[0]!.end('le')
      await closed
      expect(output()).to.match(/^HTTP\/1\.1 200 OK\r\n[^{]*\r\n\r\nwholeHTTP\/1\.1 40[08] /)
      expect(output().match(/HTTP\/1\.1 \d{3} /g)).to.have.length(2)
    })
  }

  it('leaves a stream whole that has begun', async () => {
    const { socket, output, closed } = say(ASK)
    await eventually(() => answers.length > 0)
    answers[0]!.write('one')
    await eventually(() => output().includes('one'))
    for (let i = 0; i < 20; i++) {
      const fails = broken()
      socket.write('nonsense\r\n\r\n')
      await fails
    }
    answers[0]!.end('two')
    await closed
    expect(output()).to.match(/\r\n3\r\none\r\n3\r\ntwo\r\n0\r\n\r\nHTTP\/1\.1 400 /)
    expect(output().match(/HTTP\/1\.1 \d{3} /g)).to.have.length(2)
  })
})
