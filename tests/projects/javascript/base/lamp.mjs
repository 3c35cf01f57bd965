export const shines = (level) => level > 0;
