import { expect } from 'chai'
import { Fault } from '../../../core/errors.ts'
import * as s from '../../../core/plugin/schema.ts'
import { createRpc, type RpcContext } from '../../../server/mcp/rpc.ts'
import { defineTool, READ_ONLY } from '../../../server/mcp/tool.ts'

const broken = defineTool({
  name: 'broken',
  title: 'Broken',
  description: 'Has a bug.',
  annotations: READ_ONLY,
  input: s.object({}),
  run: () => Promise.reject(new TypeError('a bug')),
})

describe('a tool that fails', () => {
  const reported: unknown[] = []
  const call = (signal: AbortSignal) => {
    const context = {
      era: 'legacy',
      requestId: 'req_1',
      signal,
      reportFault: (error: unknown) => (reported.push(error), new Fault('internal_error')),
    } as unknown as RpcContext
    const params = { name: 'broken', arguments: {} }
    return createRpc([broken], '0')(
      { kind: 'request', id: 1, method: 'tools/call', params },
      context,
    )
  }
  beforeEach(() => reported.splice(0))

  it('is reported to its caller and, once, to the operator', async () => {
    const { body } = await call(new AbortController().signal)
    expect(JSON.stringify(body)).to.include('internal_error').and.not.to.include('a bug')
    expect(reported.map(String)).to.deep.equal(['TypeError: a bug'])
  })

  it('is reported to the operator even if its caller has disconnected', async () => {
    await call(AbortSignal.abort())
    expect(reported.map(String)).to.deep.equal(['TypeError: a bug'])
  })
})
