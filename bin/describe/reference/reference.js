// Shows openapi.json, with the token of the local run if there is one. Nothing is loaded from or reported to other hosts.

// Zod, a part of Scalar, would otherwise try to compile code, which the Content-Security-Policy reports as an error.
globalThis.__zod_globalConfig = { jitless: true }
await import('./scalar.js')

const read = async (file) => (await fetch(file)).json()
const [{ token }, content] = await Promise.all([read('service.json'), read('openapi.json')])
const exampleKey = content.components.parameters.IdempotencyKey.example

// Scalar sends each parameter that has an example: here those that a request needs, and the key.
const operations = Object.values(content.paths).flatMap(Object.values)
const parameters = operations.flatMap((operation) => operation.parameters)
for (const parameter of [...parameters, ...Object.values(content.components.parameters)])
  if (!parameter.required && parameter.example !== exampleKey) delete parameter.example

Scalar.createApiReference('#reference', {
  content,
  authentication: {
    preferredSecurityScheme: 'bearer',
    ...(token && { securitySchemes: { bearer: { token } } }),
  },
  // The same key again would be a replay, or a conflict with another body. A key that the reader typed is sent as it is.
  onRequestBuilt: ({ request: { headers } }) => {
    if (headers.get('Idempotency-Key') === exampleKey) headers.set('Idempotency-Key', crypto.randomUUID())
  },
  telemetry: false,
  withDefaultFonts: false,
  agent: { disabled: true },
  mcp: { disabled: true },
  hideClientButton: true,
  showDeveloperTools: 'never',
})
