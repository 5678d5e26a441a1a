// Shows openapi.json, with the token of the local run if there is one. Nothing is loaded from or reported to other hosts.

// Zod, a part of Scalar, would otherwise try to compile code, which the Content-Security-Policy reports as an error.
globalThis.__zod_globalConfig = { jitless: true }
await import('./scalar.js')

const response = await fetch('service.json')
const { token } = await response.json()

Scalar.createApiReference('#reference', {
  url: 'openapi.json',
  authentication: {
    preferredSecurityScheme: 'bearer',
    ...(token && { securitySchemes: { bearer: { token } } }),
  },
  telemetry: false,
  withDefaultFonts: false,
  agent: { disabled: true },
  mcp: { disabled: true },
  hideClientButton: true,
  showDeveloperTools: 'never',
})
