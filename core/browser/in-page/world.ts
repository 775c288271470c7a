import type { CDPSession } from 'puppeteer-core'
import { RenderError } from '../../plugin/render-error.ts'
import { Flattener, flatten, slice } from './flatten.ts'
import { inspect, scrollDown, survey } from './survey.ts'

/** Script that defines the functions of this folder in a world, once. */
const FUNCTIONS = `globalThis.hub ??= (() => {
  ${[inspect, survey, scrollDown, Flattener, flatten, slice].map(String).join('\n')}
  return { survey, scrollDown, flatten, slice }
})(), 0`

/** Isolated world of the current document, whose functions the page cannot access. */
export class IsolatedWorld {
  readonly #session: CDPSession
  readonly #frame: string
  #context: Promise<number> | undefined

  constructor(session: CDPSession, frame: string) {
    this.#session = session
    this.#frame = frame
  }

  /** Discards the world, after navigation to another document. */
  forget(): void {
    this.#context = undefined
  }

  /** Calls a function of this folder in the page. @throws RenderError; Error without a document */
  async call<Args extends unknown[], Result>(
    work: (...args: Args) => Result,
    ...args: Args
  ): Promise<Awaited<Result>> {
    this.#context ??= this.#create().catch((error) => {
      this.#context = undefined
      throw error
    })
    const contextId = await this.#context
    const expression = `hub.${work.name}(${args.map((arg) => JSON.stringify(arg)).join(', ')})`
    return (await this.#evaluate(expression, contextId)) as Awaited<Result>
  }

  async #create(): Promise<number> {
    const { executionContextId } = await this.#session.send('Page.createIsolatedWorld', {
      frameId: this.#frame,
      worldName: 'hub',
    })
    await this.#evaluate(FUNCTIONS, executionContextId)
    return executionContextId
  }

  async #evaluate(expression: string, contextId: number): Promise<unknown> {
    const { result, exceptionDetails } = await this.#session.send('Runtime.evaluate', {
      expression,
      contextId,
      returnByValue: true,
      awaitPromise: true,
    })
    if (!exceptionDetails) return result.value
    const text = exceptionDetails.exception?.description ?? exceptionDetails.text
    const isSelector = text.includes('SyntaxError')
    throw new RenderError(isSelector ? 'validation_failed' : 'render_failed', text)
  }
}
