import { connect } from 'node:net'
import { expect } from 'chai'
import { request } from 'undici'
import type { LocalAccount } from 'viem'
import { systemClock } from '../../core/clock.ts'
import { parseOffer } from '../../core/payments/paying/offer.ts'
import { chooseTerms } from '../../core/payments/paying/terms.ts'
import { signPayment } from '../../core/payments/paying/x402-client.ts'
import { findMisfits } from './advice.ts'

export interface RequestOptions {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly key?: string | undefined
  /** Sent as JSON; strings and bytes are sent unchanged. */
  readonly body?: unknown
}

export interface ApiResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: Readonly<Record<string, unknown>>
  readonly text: string
}

/** Sends a request to a hub. Returns status, headers, and the body as JSON. */
export async function ask(
  url: string,
  path: string,
  question: RequestOptions = {},
): Promise<ApiResponse> {
  const {
    method = question.body === undefined ? 'GET' : 'POST',
    headers = {},
    key,
    body,
  } = question
  const raw = typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body)
  const answer = await request(new URL(path, url), {
    method: method as 'GET',
    headers: {
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      ...headers,
    },
    body: raw ?? null,
  })
  const text = await answer.body.text()
  const response = { status: answer.statusCode, headers: answer.headers, body: parsed(text), text }
  const misfits = findMisfits({ path, headers }, response)
  if (misfits.length > 0)
    throw new Error(`advice that does not fit: ${misfits.join('; ')}: ${text}`)
  return response
}

function parsed(text: string): ApiResponse['body'] {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as ApiResponse['body']) : { value }
  } catch {
    return {}
  }
}

/** A page of a list. */
export interface Page {
  readonly data: readonly Readonly<Record<string, unknown>>[]
  readonly next_cursor: string | null
  readonly has_more: boolean
}

export const pageOf = (body: ApiResponse['body']): Page => body as unknown as Page

/** Sends exactly these bytes over a new connection. Returns everything received until it closes. */
export function askRaw(url: string, lines: readonly string[]): Promise<string> {
  const { hostname, port, host } = new URL(url)
  const [first = '', ...rest] = lines
  const head = [first, `Host: ${host}`, 'Connection: close', ...rest, '', ''].join('\r\n')
  return new Promise((resolve, reject) => {
    let text = ''
    const socket = connect(Number(port), hostname, () => socket.write(head))
    socket.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
    socket.on('end', () => resolve(text)).on('error', reject)
  })
}

/** Expects a problem with this status and code. */
export const expectProblem = ({ status, body }: ApiResponse, expected: number, code: string) =>
  expect([status, body['code']]).to.deep.equal([expected, code])

/** Returns the PAYMENT-SIGNATURE value that pays the offer of a 402. */
export async function payFor(
  account: LocalAccount,
  url: string,
  offered: ApiResponse,
): Promise<string> {
  const terms = chooseTerms(parseOffer({ headers: offered.headers, body: Buffer.from('{}') }), {
    host: new URL(url).hostname,
    maxAmount: 10n ** 12n,
    ownWallets: [account.address],
  })
  return (await signPayment(account, terms, systemClock.now())).header.value
}
