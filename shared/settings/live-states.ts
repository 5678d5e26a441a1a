/** The states of a code that is not deleted. A profile decides the first one, and who moves a code between them. */
export const liveStates = ['draft', 'active', 'archived'] as const
