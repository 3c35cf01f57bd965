export const shines = () => true;
