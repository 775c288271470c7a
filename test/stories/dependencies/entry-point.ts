import { usd } from '../../../core/money.ts'
import type { Hex } from '../../../core/payments/chain/asset.ts'
import { callTool } from '../../server/mcp/ask.ts'
import type { ApiResponse } from '../../support/ask.ts'
import type { Dependency, Fixture } from './fixture.ts'

/** Result of a request at any entry point. */
export interface Outcome {
  readonly ok: boolean
  /** Code of the problem. */
  readonly code?: string | undefined
  /** State of a payment to a seller, if one was sent. */
  readonly payment?: string | undefined
  readonly charged: bigint
  readonly isProblem: boolean
  readonly advice?: string
  readonly retryable?: boolean
  readonly text: string
}

/** Request whose repetitions have one effect. */
export interface PreparedRequest {
  readonly send: () => Promise<Outcome>
  /** USDC that its payer sends, in microdollars. */
  readonly usdc?: bigint
  /** Nonce of the payment. */
  readonly nonce?: Hex
  /** Change of the credits of the agent. */
  readonly credits?: bigint
  /** Checks what it should have changed elsewhere. */
  readonly check?: () => Promise<void>
}

/** Request that needs dependencies. */
export interface EntryPoint {
  readonly name: string
  readonly uses: readonly Dependency[]
  prepare(fixture: Fixture): Promise<PreparedRequest>
}

/** Reads a response of REST or the proxy. */
export function readResponse({ status, headers, body, text }: ApiResponse): Outcome {
  const payment = body['payment'] as { readonly state?: string } | undefined
  return {
    ok: status === 200 || status === 201,
    code: body['code'] as string | undefined,
    payment: payment?.state,
    charged: BigInt(Number(body['charged_microdollars'] ?? 0)),
    isProblem: headers['content-type'] === 'application/problem+json' && body['status'] === status,
    advice: String(body['advice']),
    retryable: body['retryable'] === true,
    text,
  }
}

/** Calls an MCP tool. */
export async function callHub(
  { running, agent, poor }: Fixture,
  tool: string,
  args: Readonly<Record<string, unknown>>,
  payment?: object,
): Promise<Outcome> {
  const { apiKey: key } = payment ? poor : agent
  const meta = payment && { 'x402/payment': payment }
  const called = await callTool(running, key, tool, args, meta).catch((error: Error) => error)
  if (called instanceof Error) {
    const code = /"code":"(\w+)"/.exec(called.message)?.[1]
    const retryable = called.message.includes('"retryable":true')
    return { ok: false, code, charged: 0n, isProblem: true, retryable, text: called.message }
  }
  const { isError, data } = called
  const sent = data['payment'] as { readonly state?: string } | undefined
  return {
    ok: isError !== true,
    code: data['error'] as string | undefined,
    payment: sent?.state,
    charged: usd((data['charged_usd'] as string | undefined) ?? '0'),
    isProblem: typeof data['error'] === 'string',
    advice: String(data['next']),
    retryable: data['retryable'] === true,
    text: JSON.stringify(data),
  }
}
