import type { CDPSession } from 'puppeteer-core'
import { RenderError } from '../../plugin/render-error.ts'
import { Flattener, flatten, slice } from './flatten.ts'
import { look, scrollDown, survey } from './survey.ts'

/** Puts our functions into a world, once. */
const FUNCTIONS = `globalThis.hub ??= (() => {
  ${[look, survey, scrollDown, Flattener, flatten, slice].map(String).join('\n')}
  return { survey, scrollDown, flatten, slice }
})(), 0`

/** The world of our functions inside the document in sight, which the page cannot see. */
export class InnerWorld {
  readonly #session: CDPSession
  readonly #frame: string
  #context: Promise<number> | undefined

  constructor(session: CDPSession, frame: string) {
    this.#session = session
    this.#frame = frame
  }

  /** Another document is in sight. */
  forget(): void {
    this.#context = undefined
  }

  /**
   * Calls one of our functions.
   * @throws RenderError for what it throws itself; Error when the document has gone
   */
  async call<Args extends unknown[], Result>(
    work: (...args: Args) => Result,
    ...args: Args
  ): Promise<Awaited<Result>> {
    this.#context ??= this.#make().catch((error) => {
      this.#context = undefined
      throw error
    })
    const contextId = await this.#context
    const expression = `hub.${work.name}(${args.map((arg) => JSON.stringify(arg)).join(', ')})`
    return (await this.#evaluate(expression, contextId)) as Awaited<Result>
  }

  async #make(): Promise<number> {
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
    const told = exceptionDetails.exception?.description ?? exceptionDetails.text
    const isSelector = told.includes('SyntaxError')
    throw new RenderError(isSelector ? 'validation_failed' : 'render_failed', told)
  }
}
