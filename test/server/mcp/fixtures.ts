import { sleep } from '../../../core/clock.ts'
import type { Schema } from '../../../core/plugin/schema.ts'
import * as s from '../../../core/plugin/schema.ts'
import { RPC, RpcError } from '../../../server/mcp/errors.ts'
import {
  type AnyTool,
  defineTool,
  READ_ONLY,
  type ToolContext,
  type ToolResult,
} from '../../../server/mcp/tool.ts'
import schema2020 from './conformance/schema-2020-12.json' with { type: 'json' }

/** Diagnostic tools that the official conformance suite calls by name. */

const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=='
const WAV = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA='

const text = (content: string) => ({ type: 'text', text: content })
const image = { type: 'image', data: PNG, mimeType: 'image/png' }
const resource = (uri: string, mimeType: string, content: string) => ({
  type: 'resource',
  resource: { uri, mimeType, text: content },
})

const fixture = (
  name: string,
  run: (context: ToolContext) => ToolResult | Promise<ToolResult>,
  input: Schema<unknown> = s.object({}),
): AnyTool =>
  defineTool({
    name,
    title: name,
    description: 'A fixture.',
    annotations: READ_ONLY,
    input,
    run: async (_, context) => run(context),
  })

const returnsContent = (name: string, ...content: readonly object[]): AnyTool =>
  fixture(name, () => ({ content: content as ToolResult['content'] }))

export const FIXTURES: readonly AnyTool[] = [
  returnsContent('test_simple_text', text('This is a simple text response for testing.')),
  returnsContent('test_image_content', image),
  returnsContent('test_audio_content', { type: 'audio', data: WAV, mimeType: 'audio/wav' }),
  returnsContent(
    'test_embedded_resource',
    resource('test://embedded-resource', 'text/plain', 'This is an embedded resource content.'),
  ),
  returnsContent(
    'test_multiple_content_types',
    text('Multiple content types test:'),
    image,
    resource('test://mixed-content-resource', 'application/json', '{"test":"data","value":123}'),
  ),
  returnsContent('test_logging_tool', text('Logs nothing, since nobody may ask for it.')),
  returnsContent('test_streaming_elicitation', text('Asks nothing back.')),
  fixture('json_schema_2020_12_tool', () => ({ content: [text('ok')] }), { json: schema2020 }),
  fixture('test_error_handling', () => ({
    content: [text('This tool intentionally returns an error for testing')],
    isError: true,
  })),
  fixture('test_tool_with_progress', async ({ progress }) => {
    for (const done of [0, 50, 100]) {
      progress(done, 100, `${done} of 100`)
      await sleep(20)
    }
    return { content: [text('Done.')] }
  }),
  fixture('test_missing_capability', ({ capabilities }) => {
    if ('sampling' in capabilities) return { content: [text('It can.')] }
    const data = { requiredCapabilities: { sampling: {} } }
    throw new RpcError(RPC.missingCapability, 'This needs sampling.', { data })
  }),
]
